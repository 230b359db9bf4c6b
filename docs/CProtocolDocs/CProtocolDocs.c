// SPDX-License-Identifier: Apache-2.0
#include "CProtocolDocs.h"

// Swift has no directive that takes in a file, and a literal of half a megabyte takes its compiler a minute.

static const unsigned char index_html[] = {
#embed "../index.html"
};
static const unsigned char errors_html[] = {
#embed "../errors.html"
};
static const unsigned char openapi_yaml[] = {
#embed "../openapi.yaml"
};
static const unsigned char asyncapi_yaml[] = {
#embed "../asyncapi.yaml"
};
static const unsigned char server_openapi_yaml[] = {
#embed "../server-openapi.yaml"
};

#define DOCUMENT(file) ((struct StrataDocument){file, sizeof(file)})

struct StrataDocument strata_docs_index(void) { return DOCUMENT(index_html); }
struct StrataDocument strata_docs_errors(void) { return DOCUMENT(errors_html); }
struct StrataDocument strata_docs_openapi(void) { return DOCUMENT(openapi_yaml); }
struct StrataDocument strata_docs_asyncapi(void) { return DOCUMENT(asyncapi_yaml); }
struct StrataDocument strata_docs_server_openapi(void) { return DOCUMENT(server_openapi_yaml); }
