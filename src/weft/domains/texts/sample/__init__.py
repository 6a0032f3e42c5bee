"""Sample.

names     Names that ship with weft
opinions  Opinions that ship with weft
running   Running texts that ship with weft or come with every Python
"""
