import multiprocessing


def work(number):
    doubled = number * 2
    return doubled  # noqa: RET504


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(1) as pool:
        print("sum", sum(pool.map(work, [4])))
