-- 000017: archiving looks its copies up by key. Each archived response is compared with its copy by answer_is_final. A
-- session that planned this lookup while the archive was empty read the whole archive for every response.
ALTER FUNCTION answer_is_final() SET enable_seqscan = off;
