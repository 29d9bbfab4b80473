/* A test program without tests: its --help is what is true of all of them. */
extern const int yieldpoint_manual;
const int yieldpoint_manual = 0;
