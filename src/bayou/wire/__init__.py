"""What every format looks like in bytes: one module per document, each with its value, `decode` and `encode`.

The room stands below storage so that remotes, sync, locks and pipelines share one definition of each format. It does no
I/O: bytes in, values out. `where` is the key or path that an error names. Whatever bytes arrive, a decoder returns a
value or raises `Corrupt` or `Unsupported`; an object that existing clients would overlook comes back as `Void`, so that
no caller takes it for an empty one by accident. Why it is built this way is told in design/002.
"""
