"""Small functions and macros of C, of which a file gets those that it uses."""
