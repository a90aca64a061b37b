package views

import "github.com/fenceline/fenceline/store"

// errorGroup is a failure that several attempts share.
type errorGroup struct {
	store.AttemptFailure // the newest
	Attempts             []store.AttemptFailure
}

// groupErrors joins failures with the same fingerprint, the group whose newest
// failure is latest first.
func groupErrors(all []store.AttemptFailure) []errorGroup {
	at := make(map[string]int)
	var out []errorGroup
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		print := f.Fingerprint
		if print == "" {
			print = f.Class + "\x00" + f.Message
		}
		if n, ok := at[print]; ok {
			out[n].Attempts = append(out[n].Attempts, f)
			continue
		}
		at[print] = len(out)
		out = append(out, errorGroup{f, []store.AttemptFailure{f}})
	}
	return out
}

// generations lists the attempts of a group, oldest first, in one line.
func (g errorGroup) generations() string {
	const most = 8
	text := ""
	for i := len(g.Attempts) - 1; i >= 0; i-- {
		if text != "" {
			text += ", "
		}
		if len(g.Attempts)-i > most {
			return text + "… " + decimal(g.Attempts[0].Generation)
		}
		text += decimal(g.Attempts[i].Generation)
	}
	return text
}
