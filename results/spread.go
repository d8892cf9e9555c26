package results

import (
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Spread is one figure over the valid trials of a cell that have it. N is how many they are; when it is 0, the figure
// is unknown and the others mean nothing. Low and High are the lowest and the highest trial, Median the middle one or
// the mean of the middle two. Nothing is said of samples within a trial: they are not independent, trials are.
type Spread struct {
	Median, Low, High float64
	N                 int
}

// spreadOf returns the spread of the figures.
func spreadOf(figures []float64) Spread {
	n := len(figures)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[0], High: sorted[n-1], N: n}
}

// UpperBound returns the rate of broken trials that k broken ones among n independent trials leave possible: the upper
// end of a one-sided 95 % confidence interval, exact for a binomial count, from 0 to 1.
//
// It is the bound of Clopper and Pearson (Biometrika 26, 1934, 404–413), the 0.95 quantile of the Beta distribution
// with parameters k+1 and n−k. For k = 0 it is 1 − 0.05^(1/n), near the rule of three, 3/n: ten trials that all held
// leave a rate of 26 % possible. It is 1 for k ≥ n, and so for n = 0, when nothing is known. k must not be negative.
func UpperBound(k, n int) float64 {
	if k >= n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 0.95)
}
