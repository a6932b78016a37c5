package design

import "github.com/labstack/echo/v4"

// redisOptions are the two choices that the pattern leaves open.
type redisOptions struct {
	lockSeconds int  // how long a key stays locked whose request never ends
	answerFirst bool // the answer is sent before Redis has stored it
}

// mountRedis puts the middleware in front of the naive handler, with the run's options
// instead of the design's if it has some.
func mountRedis(options redisOptions) func(*echo.Echo, Parts) {
	return func(e *echo.Echo, p Parts) {
		if p.LockSeconds > 0 {
			options.lockSeconds = p.LockSeconds
		}
		if p.AnswerFirst != nil {
			options.answerFirst = *p.AnswerFirst
		}
		e.POST("/pay", (&naive{p.shop()}).pay, (&idempotent{p.Redis, options}).middleware)
	}
}
