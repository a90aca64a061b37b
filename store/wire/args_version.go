package wire

import "github.com/fenceline/fenceline/store"

// ArgsVersion is an older version of a job's args that is kept. It holds none of
// them.
type ArgsVersion struct {
	Version    int64   `json:"version"`
	ReplacedAt string  `json:"replaced_at"`
	ReplacedBy string  `json:"replaced_by"`
	Reason     *string `json:"reason"` // null where the log tells it no longer
	Bytes      int     `json:"bytes"`
}

// ArgsVersions are the versions of a job's args.
type ArgsVersions struct {
	Version  int64         `json:"version"` // of the present args
	ErasedAt *string       `json:"erased_at"`
	Versions []ArgsVersion `json:"versions"`
}

// ArgsVersionsOf shows the versions that are kept of a job's args.
func ArgsVersionsOf(j store.Job, kept []store.ArgsVersion) ArgsVersions {
	out := ArgsVersions{j.ArgsVersion, InstantOrNull(j.ErasedAt), make([]ArgsVersion, len(kept))}
	for i, v := range kept {
		out.Versions[i] = ArgsVersion{v.Version, Instant(v.ReplacedAt), v.ReplacedBy, OrNull(v.Reason), v.Bytes}
	}
	return out
}
