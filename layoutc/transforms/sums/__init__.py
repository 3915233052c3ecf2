"""The sums of a compensation: along with the copies of a plan, or behind them."""
