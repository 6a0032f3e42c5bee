"""What a decoder writes, and in which language.

target     TargetCodec: the protocol of what a decoder writes, texts or symbols
languages  ChosenLanguages: the two languages of a translation, where a model knows several
"""
