"""Messages of the library about parameters, reworded as messages about options."""

import re

__all__ = ["reword_parameters"]

_WORDS = (
    (r"\bby dataset\b", "by --dataset"),
    (r"\bleave (dataset|layer)\b", r"leave --\1"),
    (r"^(dataset|layer) is for\b", r"--\1 is for"),
    (r"\bboth layer (.+) and dataset\b", r"both --layer \1 and --dataset"),
    (r"\bwith without=\[\.\.\.\]", "with --drop"),
    (r"(?<![-\w])memory_limit=", "--memory-limit "),
    (r"(?<![-\w])memory_limit\b", "--memory-limit"),
    (r"(?<![-\w])device='(\w+)'", r"--device \1"),
    (r"(?<![-\w])cache=", "--cache "),
    (r"\bas cache\b", "by --cache"),
    (r"\bgive another cache\b", "give another --cache"),
    (r"Schema\(target_kind='(\w+)'\)", r"--target-kind \1"),
    (r"\btarget_kind='(\w+)'", r"--target-kind \1"),
)


def reword_parameters(message: str) -> str:
    """Reword a message about parameters as one about options.

    Examples
    --------
    >>> reword_parameters("'a.h5' has 2 matrices ('X', 'Z'): name one by dataset")
    "'a.h5' has 2 matrices ('X', 'Z'): name one by --dataset"
    >>> reword_parameters("give memory_limit='2GB', or device='cpu'")
    "give --memory-limit '2GB', or --device cpu"
    """
    for pattern, replacement in _WORDS:
        message = re.sub(pattern, replacement, message)
    return message
