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

// The modules of Clients/JavaScript and the files of Examples/Demo.
static const unsigned char client_changes[] = {
#embed "../../Clients/JavaScript/changes.js"
};
static const unsigned char client_client[] = {
#embed "../../Clients/JavaScript/client.js"
};
static const unsigned char client_clock[] = {
#embed "../../Clients/JavaScript/clock.js"
};
static const unsigned char client_connection[] = {
#embed "../../Clients/JavaScript/connection.js"
};
static const unsigned char client_content[] = {
#embed "../../Clients/JavaScript/content.js"
};
static const unsigned char client_errors[] = {
#embed "../../Clients/JavaScript/errors.js"
};
static const unsigned char client_indexeddb[] = {
#embed "../../Clients/JavaScript/indexeddb.js"
};
static const unsigned char client_lists[] = {
#embed "../../Clients/JavaScript/lists.js"
};
static const unsigned char client_metadata[] = {
#embed "../../Clients/JavaScript/metadata.js"
};
static const unsigned char client_objects[] = {
#embed "../../Clients/JavaScript/objects.js"
};
static const unsigned char client_queue[] = {
#embed "../../Clients/JavaScript/queue.js"
};
static const unsigned char client_rest[] = {
#embed "../../Clients/JavaScript/rest.js"
};
static const unsigned char client_store[] = {
#embed "../../Clients/JavaScript/store.js"
};
static const unsigned char client_strata[] = {
#embed "../../Clients/JavaScript/strata.js"
};
static const unsigned char client_strata_min[] = {
#embed "../../Clients/JavaScript/strata.min.js"
};
static const unsigned char client_strata_min_gz[] = {
#embed "../../Clients/JavaScript/strata.min.js.gz"
};
static const unsigned char client_sync[] = {
#embed "../../Clients/JavaScript/sync.js"
};
static const unsigned char client_typing[] = {
#embed "../../Clients/JavaScript/typing.js"
};
static const unsigned char client_view[] = {
#embed "../../Clients/JavaScript/view.js"
};
static const unsigned char client_wire[] = {
#embed "../../Clients/JavaScript/wire.js"
};
static const unsigned char demo_demo_css[] = {
#embed "../../Examples/Demo/demo.css"
};
static const unsigned char demo_demo_js[] = {
#embed "../../Examples/Demo/demo.js"
};
static const unsigned char demo_dom_js[] = {
#embed "../../Examples/Demo/dom.js"
};
static const unsigned char demo_index_html[] = {
#embed "../../Examples/Demo/index.html"
};
static const unsigned char demo_pane_js[] = {
#embed "../../Examples/Demo/pane.js"
};
static const unsigned char demo_views_js[] = {
#embed "../../Examples/Demo/views.js"
};

#define DOCUMENT(file) ((struct StrataDocument){file, sizeof(file)})

struct StrataDocument strata_docs_index(void) { return DOCUMENT(index_html); }
struct StrataDocument strata_docs_errors(void) { return DOCUMENT(errors_html); }
struct StrataDocument strata_docs_openapi(void) { return DOCUMENT(openapi_yaml); }
struct StrataDocument strata_docs_asyncapi(void) { return DOCUMENT(asyncapi_yaml); }
struct StrataDocument strata_docs_server_openapi(void) { return DOCUMENT(server_openapi_yaml); }
struct StrataDocument strata_client_min_gz(void) { return DOCUMENT(client_strata_min_gz); }

#define FILE(name, file) {name, {file, sizeof(file)}}

static const struct StrataFile client_files[] = {
    FILE("changes.js", client_changes),
    FILE("client.js", client_client),
    FILE("clock.js", client_clock),
    FILE("connection.js", client_connection),
    FILE("content.js", client_content),
    FILE("errors.js", client_errors),
    FILE("indexeddb.js", client_indexeddb),
    FILE("lists.js", client_lists),
    FILE("metadata.js", client_metadata),
    FILE("objects.js", client_objects),
    FILE("queue.js", client_queue),
    FILE("rest.js", client_rest),
    FILE("store.js", client_store),
    FILE("strata.js", client_strata),
    FILE("strata.min.js", client_strata_min),
    FILE("sync.js", client_sync),
    FILE("typing.js", client_typing),
    FILE("view.js", client_view),
    FILE("wire.js", client_wire),
};
static const struct StrataFile demo_files[] = {
    FILE("demo.css", demo_demo_css),
    FILE("demo.js", demo_demo_js),
    FILE("dom.js", demo_dom_js),
    FILE("index.html", demo_index_html),
    FILE("pane.js", demo_pane_js),
    FILE("views.js", demo_views_js),
};

#define COUNT(files) (sizeof(files) / sizeof(files[0]))

struct StrataFiles strata_client_files(void) { return (struct StrataFiles){client_files, COUNT(client_files)}; }
struct StrataFiles strata_demo_files(void) { return (struct StrataFiles){demo_files, COUNT(demo_files)}; }
