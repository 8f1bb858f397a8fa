"""Migration: all that one place holds, carried to another, whatever kinds of places they are.

`planning` says what is to be done, as a value; `copying` carries one object; `manifest` is what was carried, with its
hashes; `listing` lets the index of the target say so; `verifying` compares both sides. `migrate` is all of it in one
process; a job on Spark calls the same functions. Why it is as it is, and what was tried against it, is in design/011.
"""
