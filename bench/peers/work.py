"""What the peers of bench_step share: the works, and the JSON line that each prints, with bench_step's keys."""
import argparse, collections, json, resource, statistics, time

Work = collections.namedtuple("Work", "embed layers heads key_heads mlp experts vocabulary batch length")
BASE = Work(512, 6, 8, 8, 1536, 0, 8192, 8, 256)
WORKS = dict(
    base=BASE,
    long=BASE._replace(batch=2, length=1024),
    wide=BASE._replace(embed=1024, layers=2, heads=16, mlp=3072),
    vocab=BASE._replace(vocabulary=32000),
    grouped=BASE._replace(key_heads=2),
    # Of each token two experts, their probabilities over their sum as weights, none dropped, no loss of balance.
    moe=BASE._replace(mlp=768, experts=8))
EXPERTS_PER_TOKEN = 2


def parser(description):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--work", choices=WORKS, default="base")
    p.add_argument("--dtype", choices=["f32", "bf16"], default="bf16")  # compute type; weights and moments stay f32
    p.add_argument("--steps", type=int, default=8)
    return p


def flop(w):
    """Of a step, forward and backward: 6 for each weight that a token is multiplied with, and causal attention, counted whole."""
    feed_forward = 3 * w.embed * w.mlp
    if w.experts:
        feed_forward = EXPERTS_PER_TOKEN * feed_forward + w.embed * w.experts
    attention = 2 * w.embed * (w.embed + w.embed // w.heads * w.key_heads)
    weights = w.layers * (attention + feed_forward) + w.embed * w.vocabulary
    return w.batch * w.length * (6 * weights + 6 * w.layers * w.embed * w.length)


def rss_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def run(peer, a, w, step, **more):
    """Calls step(), which returns its loss, steps + 2 times, of which the first two do not count, and prints the line. Returns all losses."""
    times, losses, rss = [], [], []
    for i in range(a.steps + 2):
        if i == 2:
            cpu, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - start)
        rss.append(rss_mb())
    cpu, after = time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF)
    median = statistics.median(times[2:])
    print(json.dumps(dict(
        bench="step", peer=peer, work=a.work, dtype=a.dtype, steps=a.steps, step_s=round(median, 4), tokens_per_s=round(w.batch * w.length / median, 1),
        tflops=round(flop(w) / median / 1e12, 4), first_step_s=round(times[0], 2), loss=losses[-1], min_step_s=round(min(times[2:]), 4),
        cpu_step_s=round(cpu / a.steps, 4), vol_switches_per_step=round((after.ru_nvcsw - before.ru_nvcsw) / a.steps, 1),
        invol_switches_per_step=round((after.ru_nivcsw - before.ru_nivcsw) / a.steps, 1), peak_rss_mb=round(after.ru_maxrss / 1024),
        rss_mb_20=round(rss[19]) if len(rss) > 20 else None, rss_mb_end=round(rss[-1]), **more)))
    return losses
