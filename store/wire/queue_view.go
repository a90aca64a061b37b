package wire

import "github.com/fenceline/fenceline/store"

// QueueView is all that is told of one queue.
type QueueView struct {
	Now       string          `json:"now"`
	Since     string          `json:"since"`
	Cut       bool            `json:"cut"`
	All       Control         `json:"all"`
	Known     bool            `json:"known"`
	Queue     Queue           `json:"queue"`
	Kinds     []Kind          `json:"kinds"`
	Workers   []Worker        `json:"workers"`
	Running   []Job           `json:"running"`
	Next      []Job           `json:"next"`
	Unhandled []Unhandled     `json:"unhandled"`
	Changes   []ControlChange `json:"changes"`
}

// QueueViewOf shows one queue.
func QueueViewOf(v store.QueueView) QueueView {
	return QueueView{Now: Instant(v.Now), Since: Instant(v.Since), Cut: v.Cut, All: ControlOf(v.All, v.Now), Known: v.Known,
		Queue: queueOf(v.Queue, v.Since, v.Now), Kinds: kindsOf(v.Kinds, v.Since, v.Now), Workers: workersIn(v.Workers, v.Now),
		Running: JobsOf(v.Holding), Next: JobsOf(v.Next), Unhandled: unhandledOf(v.Unhandled), Changes: changesOf(v.Changes)}
}

// KindView is all that is told of one kind.
type KindView struct {
	Now       string          `json:"now"`
	Since     string          `json:"since"`
	Cut       bool            `json:"cut"`
	All       Control         `json:"all"`
	Known     bool            `json:"known"`
	Kind      Kind            `json:"kind"`
	Workers   []Worker        `json:"workers"`
	Unhandled []Unhandled     `json:"unhandled"`
	Changes   []ControlChange `json:"changes"`
}

// KindViewOf shows one kind.
func KindViewOf(v store.KindView) KindView {
	return KindView{Now: Instant(v.Now), Since: Instant(v.Since), Cut: v.Cut, All: ControlOf(v.All, v.Now), Known: v.Known,
		Kind: kindOf(v.Kind, v.Since, v.Now), Workers: workersIn(v.Workers, v.Now), Unhandled: unhandledOf(v.Unhandled), Changes: changesOf(v.Changes)}
}
