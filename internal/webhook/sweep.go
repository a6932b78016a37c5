package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// overdueAfter is when a delivery that waits is taken for one whose job was lost.
const overdueAfter = time.Second

// A dead worker's deliveries are released. Its attempt has no end, and shows it.
const releaseClaims = `
	UPDATE webhook_deliveries d
	SET claimed_by = NULL, claimed_until = NULL, resent = false
	WHERE claimed_by IS NOT NULL
	  AND NOT (is_ahead(claimed_until, '1 min')
	    AND EXISTS (SELECT FROM workers w WHERE w.id = d.claimed_by AND ` + idempotency.Alive + `))`

// A delivery never waits longer than the longest pause of the schedule. A time that
// lies further ahead was set before the database's clock fell back, and has come.
const recallFromAhead = `
	WITH RECURSIVE ` + waitingEndpoints + `
	UPDATE webhook_deliveries d
	SET due_at = statement_timestamp()
	FROM waiting
	WHERE d.account_id = waiting.account_id AND d.endpoint_id = waiting.endpoint_id AND d.state = 'pending'
	  AND d.claimed_by IS NULL
	  AND d.due_at > statement_timestamp() + @longest::interval * 1.1`

// waitingEndpoints goes from one endpoint that something waits for to the next along
// the index, so its cost is the number of endpoints and not that of events.
const waitingEndpoints = `waiting AS (
		(SELECT account_id, endpoint_id FROM webhook_deliveries
		 WHERE state = 'pending' AND claimed_by IS NULL
		 ORDER BY account_id, endpoint_id LIMIT 1)
		UNION ALL
		SELECT further.account_id, further.endpoint_id
		FROM waiting CROSS JOIN LATERAL (
			SELECT account_id, endpoint_id FROM webhook_deliveries
			WHERE state = 'pending' AND claimed_by IS NULL
			  AND (account_id, endpoint_id) > (waiting.account_id, waiting.endpoint_id)
			ORDER BY account_id, endpoint_id LIMIT 1) further
	)`

// wakeOverdue makes a job for each endpoint of which a delivery is overdue. Where
// a delivery is under way, its worker continues with the rest. Where a job waits
// for its turn, because all workers have their hands full, another is not needed. What
// waits for a listener is none of the workers' business until the listener ends.
const wakeOverdue = `
	WITH RECURSIVE ` + waitingEndpoints + `
	INSERT INTO river.river_job (kind, args, queue, max_attempts)
	SELECT @kind, args, @queue, 3
	FROM (
		SELECT jsonb_build_object('account_id', account_id, 'endpoint_id', endpoint_id) AS args
		FROM waiting
		WHERE EXISTS (SELECT FROM webhook_deliveries d
		              WHERE d.account_id = waiting.account_id AND d.endpoint_id = waiting.endpoint_id
		                AND d.state = 'pending' AND d.claimed_by IS NULL
		                AND d.due_at < statement_timestamp() - @overdue_after::interval)
		  AND NOT EXISTS (SELECT FROM webhook_deliveries d
		                  WHERE d.account_id = waiting.account_id AND d.endpoint_id = waiting.endpoint_id
		                    AND d.claimed_by IS NOT NULL)
		  AND NOT EXISTS (SELECT FROM webhook_endpoints e
		                  WHERE e.account_id = waiting.account_id AND e.id = waiting.endpoint_id
		                    AND e.listener AND e.deleted_at IS NULL)
		EXCEPT
		SELECT args FROM river.river_job
		WHERE state = 'available' AND queue = @queue AND scheduled_at <= statement_timestamp()
		  AND kind = @kind) AS wanting`

// Sweep finds deliveries that no job will wake a worker for: those of dead workers,
// and those whose job was lost. It makes new jobs for them.
func (d *Deliverer) Sweep(ctx context.Context) error {
	if _, err := d.pool.Exec(ctx, releaseClaims); err != nil {
		return fmt.Errorf("release the claims of dead workers: %w", err)
	}
	if _, err := d.pool.Exec(ctx, recallFromAhead, postgres.Args{"longest": d.config.longestPause()}); err != nil {
		return fmt.Errorf("repair due times after the clock was set back: %w", err)
	}
	_, err := d.pool.Exec(ctx, wakeOverdue,
		postgres.Args{"kind": Wake{}.Kind(), "queue": Queue, "overdue_after": overdueAfter})
	if err != nil {
		return fmt.Errorf("wake workers for overdue deliveries: %w", err)
	}
	return nil
}
