package faults

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/google/uuid"

	"github.com/fenceline/fenceline/store"
)

// word is a line that a process says on standard output.
type word struct {
	Word string `json:"word"`

	Job      int64     `json:"job,omitempty"`
	Key      string    `json:"key,omitempty"`
	Revision int64     `json:"revision,omitempty"` // acted: the one that was seen
	Attempt  uuid.UUID `json:"attempt,omitzero"`
	Op       store.Op  `json:"op,omitempty"`
	Offers   int       `json:"offers,omitempty"`  // stale: how often it was sent
	Refused  bool      `json:"refused,omitempty"` // stale: it was told so
	Unsure   bool      `json:"unsure,omitempty"`  // an answer was missing before this one came
	Text     string    `json:"text,omitempty"`
}

// What processes say.
const (
	wordUp       = "up"       // ready; Text is the worker's id
	wordEffect   = "effect"   // a handler acted outside the database
	wordEnqueued = "enqueued" // Key leads to Job: acknowledged
	wordActed    = "acted"    // an operator's Text (requeue, terminate) of Job: acknowledged
	wordStale    = "stale"    // a write without authority, and what was answered
	wordWrong    = "wrong"    // an answer that must not be; Text says which
)

var saying sync.Mutex

// say prints a word. It is one write, so that a process which is killed leaves
// whole lines.
func say(w word) {
	saying.Lock()
	defer saying.Unlock()
	line, _ := json.Marshal(w)
	os.Stdout.Write(append(line, '\n'))
}
