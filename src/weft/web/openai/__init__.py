"""/v1 in the shape of OpenAI's API.

models                    /v1/models; the run that a request names
asked, answered           what completions and chats ask for and answer alike
completions, chat         /v1/completions, /v1/chat/completions
embeddings                /v1/embeddings
"""
