"""Reading.

conll            The tagged sentences in one file
corpus           Documents of text, in files with any ending
labelled         Texts with a label each, a class or a number, from tables or folders of classes
labelled_tables  Tables of texts with a label each
labelled_texts   LabelledTexts
schemes          How tags spell out entities
tagged           Sentences with a tag for each word, from files
tagged_texts     TaggedTexts
"""
