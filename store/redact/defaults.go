package redact

// DefaultNames are the names under which nobody is shown anything unless told
// otherwise, wherever they stand in args and results, in any case.
var DefaultNames = []string{
	"*password*", "*passwd*", "*passphrase*", "*secret", "*secret_key", "*secretkey", "*token",
	"authorization", "proxy-authorization", "cookie", "set-cookie", "*credential", "*credentials",
	"*api_key", "*api-key", "*apikey", "*private_key", "*private-key", "*privatekey",
	"*access_key", "*access-key", "*accesskey",
}

// Defaults are the rules that [DefaultNames] stand for, and what everybody may
// see of the built-in kind http: who was asked, and with which status it answered.
func Defaults() []Rule {
	rules := []Rule{
		{"http", Args, []string{"target"}, Show},
		{"http", Result, []string{"status"}, Show},
		{"http", Result, []string{"cut"}, Show},
	}
	for _, part := range []Part{Args, Result} {
		for _, name := range DefaultNames {
			rules = append(rules, Rule{"*", part, []string{anyPath, name}, Never})
		}
	}
	return rules
}
