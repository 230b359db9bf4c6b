// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// A file of `Services/Console/Web` at compile time. It is part of the program: nothing frees it.
struct ConsoleFile {
    /// The path below the folder.
    const char *_Nonnull name;
    /// The content, which is text. A zero byte follows.
    const unsigned char *_Nonnull text;
};

/// All files of the folder.
struct ConsoleFiles {
    const struct ConsoleFile *_Nonnull files;
    size_t count;
};

struct ConsoleFiles console_files(void);
