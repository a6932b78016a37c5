DROP TABLE refunds;
DROP TABLE charges;
