"""Opening models up: pictures and pages of what they read, and how they learned. Knows numbers and how to draw them;
refuses to know tasks and files.

    views, answers            View, the choice of a layer and head; a model's answer
    document, streams         what a page shows, as JSON both ways; weights as its streams
    packed                    weights of all heads as few bytes
    studied                   what studies find, as tables of a page
    page                      the page that shows a document: modules, styles, the one file
    photos, coast             pictures and maps over them for a document; outlines of land
    figures, fonts, films     colours, sheets and bytes of pictures; fonts for any script; animated GIFs
    sheets, curves            sheets of pictures; loss curves and charts
    change_words              changes of a model in the words of the command line
    study                     one input as the stream that answers sees it, and its answer, for the next four
    lens, attribution         the answer after every layer and branch; which parts and tokens it comes from
    effects, kinds            the answer with each of many changes; what each head reads
    sweeps                    effects and changed answers as values for a page or a server
    alignment, matrix         how much each target word read of each source word: the data; the picture
    weights                   weights from readings, of all queries or a few at a time
    reading                   attention within one input, by the names of its tokens
    steps, steps_table        attention step by step, in float64: the numbers; their table
    token_steps, page_steps   the steps of one token of any model, by name; the same for a page
    maps, rollout             maps over a picture; attention through all layers
    saliency, occlusion       what an answer depends on: by gradient; by painting parts over
    confusion, calibration    which class was found for which; how often a model is right when it is sure
    positions                 how a model of texts knows where a token stands
    nearest                   the words nearest to a word in a space of vectors
"""
