"""Batches: samples by index, and the types of batch that losses take. Knows tensors and numbers, no files.

A batch is `Samples(given, wanted, owner)`: `given` has `raw()` for the embedder; `wanted` is `Classes`, `Numbers`,
`AtTokens`, `PaddedIds` or None; `owner` names the row of `given` that a row of `wanted` belongs to. `Microbatches` are
several of them, computed one after another. Losses know these types and no modality. Which sample comes when is a pure
function of (fingerprint, seed, epoch, index): nothing is stored, and neither batch size, processes nor a restart change
it.

samples        Samples and what they hold
source         Source: what the training loop asks of data
order          the order of samples, a keyed permutation
epochs         which row of the data is the i-th sample
draws          random numbers by (key, index)
pieces         the pieces of a batch that are computed one after another, and what draws for the samples in them
id_rows        rows of ids in one array, which may be mapped from a file
like_lengths   LikeLengthSource: rows ordered by length, those of equal lengths at random, cut where a side would exceed
               the tokens. Lengths alone decide the cuts, so every epoch has the same number of micro-batches
windows        windows of a text, for language models
packed         whole rows packed into windows, of whose tokens some count: answers of talks
features       tokens that a frozen encoder gave, in some versions of each sample, in place of what it reads
ahead          the next batch is read while the last one is computed with

field_windows, views, words   batches of fields with hidden cells, of pictures in several views, of words
"""
