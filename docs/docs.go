// Package docs holds the documentation, which the dashboard shows as pages.
package docs

import "embed"

// Files are the documents, by their paths below docs.
//
//go:embed *.md start/*.md lab/*.md tour/*.md decisions/*.md
var Files embed.FS
