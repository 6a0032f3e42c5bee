"""Pictures.

archives         The pictures in a zip or tar archive, read in place
colour           Numbers of any kind become 8-bit pixels
decode_all       The trial of pictures
decode_protocol  What a process that decodes pictures is asked and answers, as bytes
decode_worker    A process that does nothing but decode pictures, so that a picture which crashes its decoder ends this process alone
decode_workers   Processes that decode pictures for this one
decoding         The bytes of one picture become pixels
formats          What files hold by their endings and first bytes
locations        Where a picture can be read from, again and again
png_sums         The checksums of a PNG file
regions          What texts say of parts of pictures
warned           What Pillow warns of while a picture is read
"""
