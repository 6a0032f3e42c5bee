"""Tasks: the framework that every task is built on. Imports no card and no domain.

A task is one sentence: rows of (given, wanted); each end has a codec that turns values into numbers and back; a model
between; a loss; a way to answer. One flow serves all:

    read -> codecs -> encode -> size -> source -> train -> measure

    read     files become a Dataset: rows to train on, rows held out       Reader (files/dataset)
    codecs   both ends, learned where --from does not know them            Task.codecs
    encode   the data as numbers, and how much there is                    Task.encode
    size     a new model for the budget, or another run's made ready       Task.sized, Task.continued
    source   samples by index, and the loss                                Task.source, Task.objective
    train    the one loop                                                  training
    measure  the same Dataset's held-out rows; the model card              Task.measure

task        Task: one abstract class; every task is a final one in a domain
card        a task in plain words, without torch; preset a size by name
asks        what a task asks for and gives: Asks, Gives; an input as a value, an answer
table_inputs   tables of inputs: their columns, found as training found them, and the row of each input
parts       which codecs and wirings a run of a task has; config.json is held to it
request     what goes into a task and comes out: Request, Draft, Loaded, Measured
record      what config.json says of a run's data
codec       Codec: one end of the samples. It opens no user file and knows no model
labels      codecs of labels, and what every task with labels does
settings    settings that all trainings share
planning    the flow above, and back into it with --resume
recipe      models by name, sizes and learning rates; sizing chooses the size by the speed of the machine
race        short runs of several models, of which the best is trained
finetuning  one policy for --from
baselines   plain methods on the same held-out data, and which won
measuring   held-out data measured within a time
using       evaluate, and finish: measures and model card
exchange    Exchange: what every task says of models from other tools and for other tools
adopting    a model from elsewhere as a run of a task
outgoing    what an export asks for; proof what it is asked to show

The ends of each task's samples, with their codecs (`Task.parts`):

language-model, fill-mask, answer-text   text: TextCodec
classify-text               text: TextCodec; label: ClassCodec or NumberCodec, by the data, or an import's SeveralCodec
tag-text                    text: TextCodec; tags: TagCodec
translate, parse as text    source, target: two TextCodecs over one tokenizer.json
parse (next-word)           source: TextCodec; target: SymbolCodec of brackets with their labels
parse (gaps)                text: TextCodec; gaps: GapCodec of what opens and closes at a word
embed-words                 word: WordCodec over words.json
classify-images             picture: PictureCodec; label: as of classify-text
reconstruct-images, distill-images   picture: PictureCodec
caption                     picture: PictureCodec; caption: TextCodec
answer                      picture: PictureCodec; question, answer: two TextCodecs over one tokenizer.json;
                            usual: UsualAnswers, to choose from and to guess by
forecast                    field: FieldCodec
fit-field                   place: PlaceCodec; label: ColourCodec, NumberCodec or ClassCodec
graph, sets                 graph: GraphCodec; label: as of classify-text

A PictureCodec holds the `Preparation` that a model from elsewhere was trained with; channels, mean and spread are the
embedder's.
"""
