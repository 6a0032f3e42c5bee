"""People's files become texts. No torch.

corpus           documents of running text, streamed
talks            questions and answers in turns
labelled         texts with labels, from tables or folders of classes
labelled_tables  one table of them
several_labels   tables in which a text has any number of labels
kept             many of them in mapped files
labelled_texts   LabelledTexts: the rows, and which are held out
tagged           sentences with a tag for each word
conll            one file of them: columns, or lines of JSON
questions        passages with questions and answers: SQuAD's form, or tables
schemes          BIO, IOB1 and IOBES become BIO
tagged_texts     TaggedTexts: the sentences, and which are held out
"""
