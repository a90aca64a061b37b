package embedded

import (
	"os"
	"runtime"
	"strings"
)

// installers are the commands that bring a server, by the name that a Linux
// distribution, or one that it derives from, gives itself.
var installers = map[string]string{
	"debian": "apt-get install postgresql",
	"ubuntu": "apt-get install postgresql",
	"fedora": "dnf install postgresql-server",
	"rhel":   "dnf install postgresql-server",
	"centos": "dnf install postgresql-server",
	"suse":   "zypper install postgresql-server",
	"arch":   "pacman -S postgresql",
	"alpine": "apk add postgresql",
}

// installCommand is the command that brings a server on this system.
func installCommand() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql"
	}
	text, _ := os.ReadFile("/etc/os-release")
	for _, id := range distributions(string(text)) {
		if command, ok := installers[id]; ok {
			return command
		}
	}
	return "your package manager's postgresql server package"
}

// installVersion says how to get the server of one major version.
func installVersion(major string) string {
	if runtime.GOOS == "darwin" {
		return "install that version with `brew install postgresql@" + major + "`"
	}
	if installCommand() == installers["debian"] {
		return "install that version with `apt-get install postgresql-" + major + "`"
	}
	return "install PostgreSQL " + major
}

// distributions are the names in an os-release file, the nearest first.
func distributions(osRelease string) []string {
	var own, like []string
	for line := range strings.Lines(osRelease) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		ids := strings.Fields(strings.Trim(value, `"'`))
		switch name {
		case "ID":
			own = ids
		case "ID_LIKE":
			like = ids
		}
	}
	return append(own, like...)
}
