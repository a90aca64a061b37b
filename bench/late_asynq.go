package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// asynqWorker is the environment variable that makes this program worker A or B
// of the scene.
const asynqWorker = "FENCELINE_BENCH_ASYNQ"

// lateAsynq stops a whole process, because asynq's check is inside of it: a
// worker asks its own clock whether its lease is over.
func lateAsynq(ctx context.Context, _ string) (v verdict, err error) {
	server, err := miniredis.Run()
	if err != nil {
		return v, err
	}
	defer server.Close()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: server.Addr()})
	defer client.Close()
	info, err := client.Enqueue(asynq.NewTask("slow", nil), asynq.Retention(time.Hour), asynq.MaxRetry(5))
	if err != nil {
		return v, err
	}
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: server.Addr()})
	defer inspector.Close()
	a, err := asynqProcess(ctx, server.Addr(), "A", 2*time.Second)
	if err != nil {
		return v, err
	}
	defer a.kill()
	if err := a.began(ctx, server); err != nil {
		return v, err
	}
	a.cmd.Process.Signal(syscall.SIGSTOP)
	b, err := asynqProcess(ctx, server.Addr(), "B", 3*time.Minute)
	if err != nil {
		return v, err
	}
	defer b.kill()
	if err := b.began(ctx, server); err != nil {
		return v, err
	}
	a.cmd.Process.Signal(syscall.SIGCONT)
	for range 50 { // A has its handler's end and its syncer's retries to get through
		time.Sleep(200 * time.Millisecond)
		task, err := inspector.GetTaskInfo("default", info.ID)
		if err != nil {
			return v, err
		}
		// The result is written by a call of its own, which asks nobody.
		v.What = fmt.Sprintf("the task is %s, its result %q, while B runs it", task.State, task.Result)
		if v.Accepted = task.State == asynq.TaskStateCompleted || string(task.Result) == "A"; v.Accepted {
			break
		}
	}
	return v, nil
}

type asynqChild struct {
	name string
	cmd  *exec.Cmd
}

func asynqProcess(ctx context.Context, address, name string, slow time.Duration) (*asynqChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, address, name, slow.String())
	cmd.Env = append(os.Environ(), asynqWorker+"=1")
	return &asynqChild{name, cmd}, cmd.Start()
}

func (c *asynqChild) began(ctx context.Context, server *miniredis.Miniredis) error {
	for !server.Exists("began:" + c.name) {
		if ctx.Err() != nil {
			return fmt.Errorf("worker %s did not get the task: %w", c.name, ctx.Err())
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func (c *asynqChild) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// runAsynqWorker is the child: one handler that says that it began, is slow,
// and ends with a result.
func runAsynqWorker(address, name, slow string) error {
	pause, err := time.ParseDuration(slow)
	if err != nil {
		return err
	}
	option := asynq.RedisClientOpt{Addr: address}
	server := asynq.NewServer(option, asynq.Config{Concurrency: 1, LogLevel: asynq.FatalLevel, RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 }})
	return server.Run(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		if err := redisSet(ctx, option, "began:"+name); err != nil {
			return err
		}
		time.Sleep(pause)
		_, err := task.ResultWriter().Write([]byte(name))
		return err
	}))
}

func redisSet(ctx context.Context, option asynq.RedisClientOpt, key string) error {
	c := option.MakeRedisClient().(redis.UniversalClient)
	defer c.Close()
	return c.Set(ctx, key, "1", 0).Err()
}
