package store_test

import (
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
)

func TestHomeTellsTheTrendTheQueuesAndTheWorkersThatWentSilent(t *testing.T) {
	f := open(t)
	for range 3 {
		f.enqueue(store.Request{})
	}
	f.enqueue(store.Request{Queue: "slow"})
	f.enqueue(store.Request{Queue: store.DrillQueue})
	held := f.claimAs("a", 2)
	f.complete("a", held[0].Lease, "1")
	f.lapse(held[1].Lease.JobID)
	f.expire()
	f.complete("a", held[1].Lease, "1")
	for _, id := range []string{"silent", "living"} {
		if err := f.RegisterWorker(f.ctx, store.WorkerStart{ID: id, Queues: map[string]int{"default": 3}, Beat: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	f.exec("update fenceline.workers set seen_at = now() - interval '4 hours' where id = 'silent'")
	for _, counted := range []bool{false, true} {
		if counted {
			f.rollAll()
		}
		h, err := f.Home(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var sum store.Counts
		for _, tick := range h.Trend.Ticks {
			sum.Claimed, sum.Completed, sum.Expired, sum.Refused = sum.Claimed+tick.Claimed, sum.Completed+tick.Completed, sum.Expired+tick.Expired, sum.Refused+tick.Refused
		}
		if want := (store.Counts{Claimed: 2, Completed: 1, Expired: 1, Refused: 1}); sum != want || len(h.Trend.Ticks) != 61 || (h.Trend.Provisional == 0) != counted {
			t.Errorf("counted %v: %+v in %d minutes, %d provisional; want %+v", counted, sum, len(h.Trend.Ticks), h.Trend.Provisional, want)
		}
		if len(h.Queues) != 2 || h.Queues[0].Name != "default" || h.Queues[1].Name != "slow" {
			t.Fatalf("counted %v: queues %+v", counted, h.Queues)
		}
		if q := h.Queues[0]; q.Waiting.N != 2 || q.Starts != 2 || q.Recent.Completed != 1 || q.Recent.Refused != 1 || q.StartWorst < q.StartMean || q.Slots != 3 {
			t.Errorf("counted %v: %+v", counted, q)
		}
		if q := h.Queues[1]; q.Waiting.N != 1 || q.Starts != 0 || q.Oldest.IsZero() {
			t.Errorf("counted %v: %+v", counted, q)
		}
		if len(h.LostWorkers) != 1 || h.LostWorkers[0].ID != "silent" || h.Workers != 1 {
			t.Errorf("counted %v: %d live, lost %+v", counted, h.Workers, h.LostWorkers)
		}
	}
}
