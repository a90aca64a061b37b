package doctor

import (
	"testing"
	"time"
)

func TestServersOutsideTheTestedVersionsAreTold(t *testing.T) {
	for number, want := range map[int]Status{130020: Fail, 140000: OK, 150018: OK, 180004: OK, 190000: Warn} {
		if f := judgeVersion(number, "x"); f.Status != want {
			t.Errorf("%d: %+v", number, f)
		}
	}
	if f := judgeVersion(180001, "18.1"); f.Status != Fail {
		t.Errorf("a release that loses changes: %+v", f)
	}
}

func TestATransactionTimeoutShorterThanAStatementIsTold(t *testing.T) {
	for bound, want := range map[time.Duration]Status{0: OK, time.Second: Warn, time.Minute: OK} {
		if f := judgeTimeouts(map[string]time.Duration{"transaction_timeout": bound}); f.Status != want {
			t.Errorf("%s: %+v", bound, f)
		}
	}
}
