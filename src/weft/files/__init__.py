"""Files: how people's files are found, opened and understood, whatever they are for. No torch.

What is in them:
survey         what the named sources are: made once, asked by every reader
dataset        Dataset (rows to train on, rows held out, fingerprint) and Reader (makes one from files)
held_out       the one rule by which rows are held out
gather         rows out of people's files: found, read one by one, bad ones named and counted
text_rows      rows of texts in mapped files, where they are too many for memory
kept_rows      rows of files as prepared data, found again while the files stay as they are
bad_rows       rows that cannot be used: refused, or left out and counted, up to a bound
labelled       LabelledData: rows with a label each, split by their contents
labels         whether labels are classes or numbers, and their order
languages      names of languages as people write them

Finding and opening:
finding        names, folders and patterns become files
endings        endings that hold one kind of data and nothing else
remote         data at an address, fetched once before it is read
ways           what may be opened and how text is decoded, as the user asks
bounds         links and paths that lead out of the named folders are not followed
unpacking      how much a packed file may become
decoding       files of text, in any encoding or wrapping; encodings guesses which it is
foreign        formats that are not read, each with a command that converts it, as
               foreign.toml says; foreign_text those that are text, prose whether a text has words at all, and
               json_forms JSON that is no list of objects, with the command that writes it as rows
names          whether a word is a text or the name of a file
writing        what is made for a user, as a file or a zarr store, whole or not at all

Kinds of files:
tables         rows of .csv, .tsv, .jsonl, .json, .xlsx and .parquet; workbooks and parquet open the last two;
               parquet_columns says which columns hold pictures
table_writing  tables that are made for a user, in the same formats
columns        what the columns of a table look like
roles          which column is which: by the user's word, by name, or by content; known_roles lists the usual names.
               A reader says which it took; where that is not sure it lists the columns
json_lines     lines of strict JSON
json_values    files that are one value of JSON
arrays         .npz and .npy, without pickle
class_folders  text files in folders that name their class
documents      .txt, .srt and .po to translate, put together again byte for byte
po             Gettext's syntax
mailboxes      mails as texts
grid_formats   which files hold fields
pictures       pictures in files and archives
"""
