// Package migrations holds the numbered SQL that makes schema fenceline.
package migrations

import "embed"

// FS holds every migration, named NNNN_what.sql.
//
//go:embed *.sql
var FS embed.FS
