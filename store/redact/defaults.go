package redact

// DefaultNames are the names under which nobody is shown anything unless told
// otherwise, wherever they stand in args and results, in any case.
var DefaultNames = []string{
	"*password*", "*passwd*", "*passphrase*", "*secret", "*secret_key", "*secretkey", "*token",
	"authorization", "proxy-authorization", "cookie", "set-cookie", "*credential", "*credentials",
	"*api_key", "*api-key", "*apikey", "*private_key", "*private-key", "*privatekey",
	"*access_key", "*access-key", "*accesskey",
}

// Defaults are the rules that [DefaultNames] stand for.
func Defaults() []Rule {
	var rules []Rule
	for _, part := range []Part{Args, Result} {
		for _, name := range DefaultNames {
			rules = append(rules, Rule{"*", part, []string{anyPath, name}, Never})
		}
	}
	return rules
}
