package main

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// keywordPassword finds the password of a connection string in keyword form.
var keywordPassword = regexp.MustCompile(`(?i)password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`)

// withoutSecrets takes the passwords of every given connection string out of a
// text that is about to be printed. Errors of the driver hold none; this is for
// the strings that nobody could parse.
func withoutSecrets(parser *kong.Kong, text string) string {
	for _, dsn := range connectionStrings(parser.Model) {
		for _, secret := range secretsOf(dsn) {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return text
}

// connectionStrings are those of every verb; only the chosen one's are filled in.
func connectionStrings(grammar *kong.Application) (all []string) {
	for _, verb := range grammar.Leaves(false) {
		for _, f := range verb.Flags {
			if f.Name == "database-url" || f.Name == "owner-database-url" {
				all = append(all, f.Target.String())
			}
		}
	}
	return all
}

// secretsOf are the parts of a connection string that may be its password, as
// they were written and as they are meant.
func secretsOf(dsn string) (secrets []string) {
	add := func(s string) {
		if s = strings.Trim(s, `'`); s == "" {
			return
		}
		secrets = append(secrets, s)
		if plain, err := url.QueryUnescape(s); err == nil && plain != s {
			secrets = append(secrets, plain)
		}
	}
	for _, m := range keywordPassword.FindAllStringSubmatch(dsn, -1) {
		add(m[1])
	}
	if _, rest, ok := strings.Cut(dsn, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			if _, password, ok := strings.Cut(rest[:at], ":"); ok {
				add(password)
				// One with an @ that was not escaped is read as a part of the host.
				for _, part := range strings.Split(password, "@") {
					if len(part) > 2 {
						add(part)
					}
				}
			}
		}
	}
	return secrets
}
