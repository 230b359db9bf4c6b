// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// The bytes of a file at compile time. They are part of the program: nothing frees them.
struct StrataDocument {
    const void *_Nonnull bytes;
    size_t count;
};

/// `docs/index.html`
struct StrataDocument strata_docs_index(void);
/// `docs/errors.html`
struct StrataDocument strata_docs_errors(void);
/// `docs/openapi.yaml`
struct StrataDocument strata_docs_openapi(void);
/// `docs/asyncapi.yaml`
struct StrataDocument strata_docs_asyncapi(void);
/// `docs/server-openapi.yaml`
struct StrataDocument strata_docs_server_openapi(void);
/// `Clients/JavaScript/strata.min.js.gz`: `strata.min.js`, compressed by gzip
struct StrataDocument strata_client_min_gz(void);

/// A file with its name.
struct StrataFile {
    const char *_Nonnull name;
    struct StrataDocument document;
};

/// The files of a folder.
struct StrataFiles {
    const struct StrataFile *_Nonnull files;
    size_t count;
};

/// The modules of `Clients/JavaScript`, and `strata.min.js`, which is made from them.
struct StrataFiles strata_client_files(void);
/// The files of `Examples/Demo`.
struct StrataFiles strata_demo_files(void);
