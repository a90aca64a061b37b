package main

import (
	"net/url"
	"regexp"
	"strings"
)

// keywordPassword finds the password of a connection string in keyword form.
var keywordPassword = regexp.MustCompile(`(?i)password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`)

// withoutSecrets takes the passwords of every given connection string out of a
// text that is about to be printed. Errors of the driver hold none; this is for
// the strings that nobody could parse.
func (c *cli) withoutSecrets(text string) string {
	for _, d := range c.databases() {
		for _, dsn := range []string{d.URL, d.OwnerURL} {
			for _, secret := range secretsOf(dsn) {
				text = strings.ReplaceAll(text, secret, "xxxxx")
			}
		}
	}
	return text
}

// databases are those of every verb; only the chosen one's is filled in.
func (c *cli) databases() []database {
	return []database{c.Serve.database, c.Worker.database, c.Migrate.database, c.Enqueue.database,
		c.Jobs.List.database, c.Jobs.Show.database, c.Jobs.Requeue.database, c.Jobs.Terminate.database,
		c.User.Add.database, c.User.List.database, c.User.Passwd.database, c.User.Set.database, c.User.Remove.database,
		c.Token.Add.database, c.Token.List.database, c.Token.Remove.database, c.Verify.database, c.Doctor.database, c.Drill.database, c.Bench.database}
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
