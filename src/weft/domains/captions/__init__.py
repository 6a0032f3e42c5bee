"""Captions: pictures with sentences about them, or with questions and answers.

A picture becomes patches or features as in `pictures`, a text becomes pieces of words as in `texts`. Captions and
questions belong to the pictures of an album (`Listed.captions`, `Listed.questions`), so splitting, fingerprints and the
trial of files know them already. A `Region` is the part of the picture that some characters are about, where that is
known. A picture is read once for several of its texts: `owner` names the row of the memory that each target reads.

caption: a `Seq2Seq` around the backbone of a picture encoder. `TargetToken.coverage` adds the doubly stochastic penalty
to the loss. A decoder may begin with a language model: an encoder–decoder of its sizes is made, and its target becomes
the language model's stream. `Request.runs` are the runs whose weights a run begins with; these learn at a share of the
rate. `Contrastive` (CoCa): the decoder's first blocks read no memory, so one pass gives a text's vector, at its end
mark, and the logits of its words; a pooler of one query gives the picture's vector. `DualEncoder` (CLIP) has the same
vectors and no decoder: it writes nothing and is measured by recall.
answer: in `Grounded` the words of a question read the picture, and the decoder what that added to them. Or
`PictureTextEmbed` joins the tokens of picture and question into one stream in which all read each other (`joint`). A
decoder writes the answer, or chooses among the usual ones under the rule `Choices`, by a beam as wide as their number.
`with_question` makes a picture encoder read questions, so `--from` takes the weights of any picture run.

cards          caption and answer in plain words
settings       of their trainings
reading        tables, COCO, VQA, text files of the same name become an album with texts
dataset        pictures to train on and pictures held out
codec          UsualAnswers: the answers given in the data
encoded        texts about pictures as ids and as samples
recipe         models that suit a budget
measures       CIDEr-D, BLEU, VQA's accuracy, and whether the model looked
views          where each word looked
sample         drawn scenes with captions, questions and regions
exchange       models from elsewhere and for elsewhere

caption        writes about pictures; writing searches captions or scores them
captioners     encoder and decoder put together, new or from other runs; decoders begins one with a language model
common_space   vectors of pictures and texts: retrieval, zero-shot classes
answer         answers questions; answering writes or chooses answers, choosing takes labels for answers,
               continuing goes on from the question, answer_inputs opens what a user asks
"""
