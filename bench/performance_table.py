"""Prints docs/performance.md from the JSON lines of bench/performance.

usage: performance_table.py LINES MACHINE
"""
import json
import sys

WORKS = {
    "base": "6 layers, d 512, 8 heads, ff 1536, vocabulary 8192, batch 8 x 256 tokens",
    "long": "the same at batch 2 x 1024",
    "wide": "2 layers, d 1024, 16 heads, ff 3072",
    "vocab": "base with a vocabulary of 32,000",
    "grouped": "base with 8 query heads on 2 key heads",
    "moe": "base with 8 experts of ff 768, two a token",
}
OURS = "tessera, kernels auto"
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
steps, long_runs = {}, []  # (work, dtype, program, devices): runs
for row in rows:
    if row.get("bench") == "step" and row["steps"] >= 100:
        long_runs.append(row)
    elif row.get("bench") == "step":
        program = row["peer"].split("+")[0] + (" compiled" if row["peer"].endswith(" compiled") else "")
        program += f", kernels {row['kernels']}" if "kernels" in row else ""
        steps.setdefault((row["work"], row["dtype"], program, row.get("devices", 1)), []).append(row)


def table(*heads):
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    return lambda *cells: print("| " + " | ".join(map(str, cells)) + " |")


def least(runs, key):
    return min(run[key] for run in runs)


def peak(dtype):
    """The best large product of all runs, TFLOP/s."""
    return max(run[f"gemm_peak_{dtype}_tflops"] for runs in steps.values() for run in runs if "kernels" in run)


def programs(work, dtype):
    return {program: runs for (w, d, program, devices), runs in steps.items() if (w, d, devices) == (work, dtype, 1)}


def print_machine():
    load = ", ".join(str(row["load"]) for row in rows if "load" in row)
    print("# Performance\n")
    print("Made by `bench/performance`, which runs everything in turns and takes the best of each. "
          f"Machine: {sys.argv[2]}; load average of the last minute after each round: {load}. Where it is above the number of cores, "
          "others used the machine, and processor time says more than the clock.\n")


def print_steps(kinds):
    print("## A training step\n")
    print("One AdamW step (`bench_step`, `bench/peers`), layers unrolled, of these works:\n")
    line = table("work", "model", "parameters")
    for work in dict.fromkeys(work for work, _ in kinds):
        params = next(runs[0]["params"] for (w, *_), runs in steps.items() if w == work)
        line(work, WORKS[work], f"{params / 1e6:.2f} M")
    print("\nThe mixture drops no token and has no loss of balance; each program computes it in the fastest of the ways that were tried: ours "
          "in rounds, JAX by blocks of tokens sorted by expert (`ragged_dot`, and all experts for all tokens, take two and three times as "
          "long), PyTorch by `grouped_mm`.\n\nThe share is of the GEMM peak: the best product of 2048 x 2048 matrices "
          f"in the same runs, {', '.join(f'{peak(dtype) * 1e3:.0f} GFLOP/s in {dtype}' for dtype in dict.fromkeys(d for _, d in kinds))}. "
          "The ratio is our time, with kernels, over this program's: below 1 we are faster. Losses are after as many steps in each, from its own weights and tokens.\n")
    line = table("work", "dtype", "program", "s a step", "tokens/s", "share", "ratio", "processor s a step", "ratio", "loss")
    for work, dtype in kinds:
        group = programs(work, dtype)
        ours = group.get(OURS)
        for program, runs in group.items():
            run = min(runs, key=lambda run: run["min_step_s"])
            seconds, cpu = run["min_step_s"], least(runs, "cpu_step_s")
            ratio = f"{least(ours, 'min_step_s') / seconds:.2f}" if ours else ""
            cpu_ratio = f"{least(ours, 'cpu_step_s') / cpu:.2f}" if ours else ""
            share = run["tflops"] * run["step_s"] / seconds / peak(dtype)
            line(work, dtype, program, f"{seconds:.3f}", f"{run['tokens_per_s'] * run['step_s'] / seconds:.0f}", f"{share:.0%}", ratio,
                 f"{cpu:.3f}", cpu_ratio, f"{run['loss']:.4f}")


def print_devices(kinds):
    print("\n## Several devices of one process\n")
    print("base with kernels; the devices share the batch and the cores. Switches a step: threads that waited, and threads whose core "
          "went to another.\n")
    line = table("dtype", "program", "devices", "s a step", "of one device's time", "processor s a step", "waited", "taken away")
    for dtype in dict.fromkeys(dtype for work, dtype in kinds if work == "base"):
        for (work, d, program, devices), runs in steps.items():
            if (work, d) != ("base", dtype):
                continue
            run = min(runs, key=lambda run: run["min_step_s"])
            one = least(steps[work, d, program, 1], "min_step_s") if (work, d, program, 1) in steps else None
            line(dtype, program, devices, f"{run['min_step_s']:.3f}", f"{run['min_step_s'] / one:.2f}" if one and devices > 1 else "",
                 f"{least(runs, 'cpu_step_s'):.3f}", f"{least(runs, 'vol_switches_per_step'):.0f}",
                 f"{least(runs, 'invol_switches_per_step'):.0f}")


def print_memory(kinds):
    print("\n## Memory\n")
    print("The largest resident set of the process, its compiler's included, beside the smaller of the peers'; what XLA planned for the step, arguments "
          "included, and the most that the plugin's allocator had in use. MB.\n")
    line = table("work", "dtype", "ours", "least peer's", "which", "ratio", "planned", "allocator")
    for work, dtype in kinds:
        group = programs(work, dtype)
        peers = {program: least(runs, "peak_rss_mb") for program, runs in group.items() if not program.startswith("tessera")}
        if OURS not in group or not peers:
            continue
        ours, which = group[OURS][0], min(peers, key=peers.get)
        mine = least(group[OURS], "peak_rss_mb")
        line(work, dtype, f"{mine:.0f}", f"{peers[which]:.0f}", which, f"{mine / peers[which]:.2f}", f"{ours['compiled_peak_mb']:.0f}",
             f"{ours['allocator_peak_mb']:.0f}")
    for run in long_runs:
        print(f"\n{run['work']}, {run['dtype']}, a long run: {run['rss_mb_20']:.0f} MB resident after 20 steps, {run['rss_mb_end']:.0f} MB at the end.")


def print_kernels(kernels):
    print("\n## Kernels alone\n")
    print("Each against its plain twin, compiled by the same compiler (`bench_kernels`): milliseconds by the clock and of processor "
          "time; GFLOP/s or GB/s by the clock.\n")
    line = table("kernel", "case", "dtype", "ms", "twin's", "processor ms", "twin's", "rate", "twin's")
    for row in kernels:
        unit, text = ("gflop_per_s", "GFLOP/s") if "gflop_per_s" in row else ("gb_per_s", "GB/s")
        line(f"`{row['kernel']}`", row["case"], row["dtype"], f"{row['kernel_ms']:.2f}", f"{row['twin_ms']:.2f}", f"{row['kernel_cpu_ms']:.2f}",
             f"{row['twin_cpu_ms']:.2f}", f"{row[unit]:.0f} {text}", f"{row['twin_' + unit]:.0f}")


def print_decoding(decoding):
    print("\n## Decoding\n")
    print("One token after the other (`bench_decode`): what it reads a second beside what this machine can read.\n")
    line = table("dtype", "kernels", "tokens/s", "GB/s", "memory's GB/s", "share")
    for row in decoding:
        line(row.get("dtype", ""), row.get("kernels", ""), f"{row['tokens_per_s']:.1f}", f"{row['gb_per_s']:.1f}", f"{row['stream_gb_per_s']:.1f}",
             f"{row['gb_per_s'] / row['stream_gb_per_s']:.0%}")


def main():
    kinds = sorted({key[:2] for key in steps}, key=lambda kind: (list(WORKS).index(kind[0]), kind[1]))
    print_machine()
    if kinds:
        print_steps(kinds)
        print_memory(kinds)
    if any(work == "base" for work, _ in kinds):
        print_devices(kinds)
    for bench, show in (("kernels", print_kernels), ("decode", print_decoding)):
        found = [row for row in rows if row.get("bench") == bench]
        if found:
            show(found)


main()
