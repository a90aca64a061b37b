package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

// Run prints which program this is.
func (versionCmd) Run(a *app) error {
	if a.json {
		return a.printJSON(struct {
			Version string `json:"version"`
			Go      string `json:"go"`
			System  string `json:"system"`
		}{versionOf(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
	}
	_, err := fmt.Fprintln(a.out, versionText())
	return err
}

func versionText() string {
	return fmt.Sprintf("fenceline %s (%s, %s/%s)", versionOf(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionOf is what the build was told, or else what `go install` knew.
func versionOf() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
