"""What a model of pictures looks at, and what it learned.

vision        maps over one picture
learned_view  filters and positions of a run; learned draws them
"""
