package views

import "github.com/fenceline/fenceline/store"

// iconPaths draws each sign within a box of twelve by twelve.
var iconPaths = map[string]string{
	string(store.Scheduled):  "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zm0 1.4a3.6 3.6 0 1 1 0 7.2 3.6 3.6 0 0 1 0-7.2zM5.4 3.5v3l2 1.6.8-1L6.8 6V3.5z",
	string(store.Available):  "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zm0 1.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
	string(store.Running):    "M3 1.5v9l7-4.5z",
	string(store.Retryable):  "M6 2.2V.3l3.4 2.8L6 5.9V3.9a2.9 2.9 0 1 0 2.9 2.9h1.7A4.6 4.6 0 1 1 6 2.2z",
	string(store.Completed):  "M4.6 8.3 10 2.4l1.2 1.1-6.5 7.2L.9 7l1.1-1.2z",
	string(store.Discarded):  "M2.6 1.5 6 4.9l3.4-3.4 1.1 1.1L7.1 6l3.4 3.4-1.1 1.1L6 7.1l-3.4 3.4-1.1-1.1L4.9 6 1.5 2.6z",
	string(store.Terminated): "M2.2 2.2h7.6v7.6H2.2z",
	"paused":                 "M2.5 1.5h2.6v9H2.5zm4.4 0h2.6v9H6.9z",
	"refused":                "M6 .3 11.7 6 6 11.7.3 6z",
	"alarm":                  "M6 .8 11.6 11H.4zm-.7 3.6v3h1.4v-3zm0 4v1.3h1.4V8.4z",
}
