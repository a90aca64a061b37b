package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// versionOf is the version of a contestant that is really measured: of a module
// what was linked, of a Node package what is installed.
func versionOf(name string, node *peers) string {
	name, _, _ = strings.Cut(name, ",")
	modules := map[string]string{"River": "github.com/riverqueue/river", "gue": "github.com/vgarvardt/gue/v5", "asynq": "github.com/hibiken/asynq"}
	if module, linked := modules[name]; linked {
		return linkedVersion(module)
	}
	if name == "Fenceline" {
		return commit()
	}
	if node == nil {
		return ""
	}
	var installed struct{ Version string }
	raw, err := os.ReadFile(filepath.Join(node.dir, "node_modules", name, "package.json"))
	if err != nil || json.Unmarshal(raw, &installed) != nil {
		return "unknown"
	}
	return "v" + installed.Version
}

func linkedVersion(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return "unknown"
}
