"""Files.

arrays         Arrays out of .npz and .npy files, without pickle and within bounds
bad_rows       Rows and pictures that cannot be used
bounds         How far data may lead
class_folders  Folders of text files in which the folder around a file names its class
columns        The columns of a table and what their values look like
dataset        Dataset
decoding       Opening a file of text and decoding it
documents      Whole documents to translate
endings        Endings of files that hold one kind of data and nothing else, so that no other reader takes them for its own
finding        Finding users' files
foreign        Formats that people have and weft does not read
foreign_text   Formats that are text, yet no text to read
grid_formats   Which files hold fields
held_out       The one rule by which some rows are held out
json_lines     Numbered lines, and lines of strict JSON
json_values    Files that are one value of strict JSON, as annotations of pictures often are
known_roles    The roles that columns of users' tables have
labels         Labels as people write them
languages      Names of languages, and of the two sides of a translation, as people write them
mailboxes      Mails of a mailbox file (.mbox) as texts
pictures       a folder
po             Gettext .po files
roles          Which column of a table is which, and whether its first row names them
survey         A survey of the sources that a user names
tables         Tables
ways           How files are read, as the user asks before anything else is known
workbooks      The rows of table files that are not text
writing        What is made for a user, written where the user says
"""
