package main

import (
	"strings"
	"testing"
)

func TestATestOfANoticeWithoutAFileNamesTheFlag(t *testing.T) {
	if _, err := (&incidentsTryCmd{Target: "room"}).body(); err == nil || !strings.HasPrefix(err.Error(), "--http: ") {
		t.Errorf("without a file: %v", err)
	}
}
