package views

import (
	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/notice"
)

const (
	RouteTryNotice = "/notices/test" // POST
	FieldTarget    = "target"        // the name of who is told
)

// NoticeTarget is who is told of incidents, as the list of them shows it.
type NoticeTarget struct {
	notice.Rule
	Told store.Told // what it was told last; zero for nothing
}
