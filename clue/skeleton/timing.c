
/* Print the time of a piece of each kind on this computer, and of reading the clock twice, ns: the least of several. */
int main(void)
{
    prepare_work(1 << 25);
    for (int kind = 0; kind <= KINDS; kind++) {
        double least = 1e9;
        for (int turn = 0; turn < 25; turn++) {
            double begin = now(), took;
            if (kind < KINDS)
                work(kind, 40);
            else
                for (int i = 0; i < 40; i++)
                    sink = (uint32_t)(now() - now());
            took = (now() - begin) / 40 * 1e9;
            least = took < least ? took : least;
        }
        printf("%.3f\n", least);
    }
    return 0;
}
