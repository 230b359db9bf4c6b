// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// The bytes of a file of `docs/`, as it was when this was compiled. They are part of the program: nothing frees them.
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
