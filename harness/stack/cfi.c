#include "harness/stack/cfi.h"

#include "harness/stack/entry.h"

enum { REMEMBERED = 8, EXPRESSION_STACK = 16 };

/* -- the rules at one instruction ----------------------------------------------------------- */

enum how { SAME, UNDEFINED, AT_OFFSET, OFFSET, OTHER, AT_EXPRESSION, EXPRESSION };

struct rule {
    enum how how;
    int64_t offset; /* from the CFA */
    uint64_t other; /* register */
    struct ypi_bytes formula;
};

struct row {
    struct rule cfa; /* OTHER: the register `other` plus the offset; EXPRESSION */
    struct rule of[YPI_REGISTERS];
};

struct machine {
    const struct ypi_entry *entry;
    uint64_t at, look;
    struct row now, initial, remembered[REMEMBERED];
    int depth;
};

static void set(struct machine *m, uint64_t reg, struct rule rule)
{
    if (reg < YPI_REGISTERS)
        m->now.of[reg] = rule;
}

static struct ypi_bytes block(struct ypi_bytes *r)
{
    const uint64_t length = ypi_bytes_unsigned(r);
    struct ypi_bytes b = {r->at, r->at + (length < (uint64_t)(r->end - r->at) ? length : 0)};
    r->at = b.end;
    return b;
}

static void remember(struct machine *m, bool restore)
{
    if (restore && m->depth > 0)
        m->now = m->remembered[--m->depth];
    else if (!restore && m->depth < REMEMBERED)
        m->remembered[m->depth++] = m->now;
}

/* Those that define the CFA; false: it is none of them. */
static bool run_of_cfa(struct machine *m, unsigned code, struct ypi_bytes *r)
{
    struct rule *cfa = &m->now.cfa;
    switch (code) {
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        cfa->how = OTHER;
        cfa->other = ypi_bytes_unsigned(r);
        cfa->offset = code == 0x0c ? (int64_t)ypi_bytes_unsigned(r)
                                   : ypi_bytes_signed(r) * m->entry->data_factor;
        return true;
    case 0x0d: /* def_cfa_register */
        cfa->how = OTHER;
        cfa->other = ypi_bytes_unsigned(r);
        return true;
    case 0x0e: /* def_cfa_offset */
        cfa->offset = (int64_t)ypi_bytes_unsigned(r);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        cfa->offset = ypi_bytes_signed(r) * m->entry->data_factor;
        return true;
    case 0x0f: /* def_cfa_expression */
        *cfa = (struct rule){.how = EXPRESSION, .formula = block(r)};
        return true;
    default:
        return false;
    }
}

/* Those that say where a register is; false: it is none of them. */
static bool run_of_register(struct machine *m, unsigned code, struct ypi_bytes *r)
{
    const int64_t factor = m->entry->data_factor;
    const uint64_t reg = code >= 0x05 && code <= 0x16 ? ypi_bytes_unsigned(r) : 0;
    switch (code) {
    case 0x05: /* offset_extended */
        set(m, reg,
            (struct rule){.how = AT_OFFSET, .offset = (int64_t)ypi_bytes_unsigned(r) * factor});
        return true;
    case 0x11: /* offset_extended_sf */
        set(m, reg, (struct rule){.how = AT_OFFSET, .offset = ypi_bytes_signed(r) * factor});
        return true;
    case 0x14: /* val_offset */
        set(m, reg,
            (struct rule){.how = OFFSET, .offset = (int64_t)ypi_bytes_unsigned(r) * factor});
        return true;
    case 0x15: /* val_offset_sf */
        set(m, reg, (struct rule){.how = OFFSET, .offset = ypi_bytes_signed(r) * factor});
        return true;
    case 0x06: /* restore_extended */
        set(m, reg, reg < YPI_REGISTERS ? m->initial.of[reg] : (struct rule){0});
        return true;
    case 0x07: /* undefined */
    case 0x08: /* same_value */
        set(m, reg, (struct rule){.how = code == 0x07 ? UNDEFINED : SAME});
        return true;
    case 0x09: /* register */
        set(m, reg, (struct rule){.how = OTHER, .other = ypi_bytes_unsigned(r)});
        return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        set(m, reg,
            (struct rule){.how = code == 0x10 ? AT_EXPRESSION : EXPRESSION, .formula = block(r)});
        return true;
    default:
        return false;
    }
}

/* One instruction; false: it is not known. */
static bool run_one(struct machine *m, struct ypi_bytes *r)
{
    const unsigned code = (unsigned)ypi_bytes_fixed(r, 1);
    const uint64_t low = code & 0x3f;
    switch (code >> 6) {
    case 1: /* advance_loc */
        m->at += low * m->entry->code_factor;
        return true;
    case 2: /* offset */
        set(m, low,
            (struct rule){.how = AT_OFFSET,
                          .offset = (int64_t)ypi_bytes_unsigned(r) * m->entry->data_factor});
        return true;
    case 3: /* restore */
        set(m, low, low < YPI_REGISTERS ? m->initial.of[low] : (struct rule){0});
        return true;
    default:
        break;
    }
    switch (code) {
    case 0x00: /* nop */
        return true;
    case 0x01: /* set_loc */
        return false;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        m->at += ypi_bytes_fixed(r, (size_t)1 << (code - 2)) * m->entry->code_factor;
        return true;
    case 0x0a:
    case 0x0b:
        remember(m, code == 0x0b);
        return true;
    case 0x2d: /* that the return address is signed, see strip() */
        return true;
    case 0x2e: /* GNU_args_size */
        ypi_bytes_unsigned(r);
        return true;
    default:
        break;
    }
    struct ypi_bytes before = *r;
    if (run_of_cfa(m, code, r))
        return true;
    *r = before;
    return run_of_register(m, code, r);
}

static bool run(struct machine *m, struct ypi_bytes r)
{
    while (r.at < r.end && m->at <= m->look)
        if (!run_one(m, &r))
            return false;
    return true;
}

/* -- what they give ------------------------------------------------------------------------- */

static bool known(const struct ypi_registers *registers, uint64_t reg)
{
    return reg < YPI_REGISTERS && (registers->known >> reg & 1) != 0;
}

struct calculation {
    const struct ypi_target *target;
    const struct ypi_registers *registers;
    uint64_t stack[EXPRESSION_STACK];
    int depth;
};

static void push(struct calculation *c, uint64_t value)
{
    if (c->depth < EXPRESSION_STACK)
        c->stack[c->depth++] = value;
}

static uint64_t pop(struct calculation *c)
{
    return c->depth > 0 ? c->stack[--c->depth] : 0;
}

static bool combine(struct calculation *c, unsigned code)
{
    const uint64_t second = pop(c);
    const uint64_t first = pop(c);
    switch (code) {
    case 0x1a:
        push(c, first & second);
        return true;
    case 0x1c:
        push(c, first - second);
        return true;
    case 0x21:
        push(c, first | second);
        return true;
    case 0x22:
        push(c, first + second);
        return true;
    case 0x24:
        push(c, second < 64 ? first << second : 0);
        return true;
    case 0x2a:
        push(c, (int64_t)first >= (int64_t)second);
        return true;
    default:
        return false;
    }
}

/* Of DWARF's operations those that compilers and the C library use here. */
static bool calculate_one(struct calculation *c, struct ypi_bytes *r)
{
    const unsigned code = (unsigned)ypi_bytes_fixed(r, 1);
    uint64_t value = 0;
    if (code >= 0x30 && code <= 0x4f) { /* lit0 to lit31 */
        push(c, code - 0x30);
        return true;
    }
    if (code >= 0x70 && code <= 0x8f) { /* breg0 to breg31 */
        const int64_t offset = ypi_bytes_signed(r);
        if (!known(c->registers, code - 0x70))
            return false;
        push(c, c->registers->value[code - 0x70] + (uint64_t)offset);
        return true;
    }
    if (code >= 0x08 && code <= 0x0f) { /* const1u, const1s, const2u, ... */
        const size_t size = (size_t)1 << ((code - 0x08) / 2);
        value = ypi_bytes_fixed(r, size);
        push(c, code % 2 == 0 ? value : (uint64_t)ypi_with_sign(value, size));
        return true;
    }
    switch (code) {
    case 0x06: /* deref */
        if (!ypi_target_get(c->target, pop(c), &value, sizeof value))
            return false;
        push(c, value);
        return true;
    case 0x12: /* dup */
        value = pop(c);
        push(c, value);
        push(c, value);
        return true;
    case 0x23: /* plus_uconst */
        push(c, pop(c) + ypi_bytes_unsigned(r));
        return true;
    default:
        return combine(c, code);
    }
}

static bool calculate(const struct ypi_target *target, const struct ypi_registers *registers,
                      struct ypi_bytes formula, const uint64_t *first, uint64_t *out)
{
    struct calculation c = {.target = target, .registers = registers};
    if (first != NULL)
        push(&c, *first);
    while (formula.at < formula.end)
        if (!calculate_one(&c, &formula))
            return false;
    *out = pop(&c);
    return true;
}

static bool find_cfa(const struct ypi_target *target, const struct ypi_registers *registers,
                     const struct rule *rule, uint64_t *cfa)
{
    if (rule->how == EXPRESSION)
        return calculate(target, registers, rule->formula, NULL, cfa);
    if (rule->how != OTHER || !known(registers, rule->other))
        return false;
    *cfa = registers->value[rule->other] + (uint64_t)rule->offset;
    return true;
}

/* A register as it was in the caller; false: that is not known. */
static bool find(const struct ypi_target *target, const struct ypi_registers *registers,
                 const struct rule *rule, uint64_t reg, uint64_t cfa, uint64_t *out)
{
    uint64_t at = cfa + (uint64_t)rule->offset;
    switch (rule->how) {
    case AT_EXPRESSION:
        if (!calculate(target, registers, rule->formula, &cfa, &at))
            return false;
        return ypi_target_get(target, at, out, sizeof *out);
    case AT_OFFSET:
        return ypi_target_get(target, at, out, sizeof *out);
    case OFFSET:
        *out = at;
        return true;
    case EXPRESSION:
        return calculate(target, registers, rule->formula, &cfa, out);
    case SAME:
    case OTHER:
        reg = rule->how == OTHER ? rule->other : reg;
        if (!known(registers, reg))
            return false;
        *out = registers->value[reg];
        return true;
    default:
        return false;
    }
}

/* An address without the signature that a processor of ARM may have put into its upper bits. */
static uint64_t strip(uint64_t address)
{
#if defined __aarch64__
    return address & ((UINT64_C(1) << 48) - 1);
#else
    return address;
#endif
}

/* The caller's stack begins where this frame ends, unless its rules say otherwise. */
static bool apply(const struct ypi_target *target, const struct machine *m,
                  struct ypi_registers *registers)
{
    uint64_t cfa = 0;
    struct ypi_registers caller = {0};
    if (!find_cfa(target, registers, &m->now.cfa, &cfa))
        return false;
    for (uint64_t reg = 0; reg < YPI_REGISTERS; reg++) {
        const struct rule *rule = &m->now.of[reg];
        if (reg == YPI_REGISTER_SP && rule->how == SAME)
            caller.value[reg] = cfa;
        else if (!find(target, registers, rule, reg, cfa, &caller.value[reg]))
            continue;
        caller.known |= UINT64_C(1) << reg;
    }
    const uint64_t from = m->entry->return_register;
    if (!known(&caller, from) || !known(&caller, YPI_REGISTER_SP))
        return false;
    caller.pc = strip(caller.value[from]);
    *registers = caller;
    return caller.pc != 0;
}

bool ypi_cfi_step(const struct ypi_target *target, uint64_t look, struct ypi_registers *registers,
                  bool *exact)
{
    struct ypi_entry e = {0};
    struct machine m = {.entry = &e, .look = look};
    if (!ypi_entry_find(target, look, &e))
        return false;
    m.at = e.begin;
    m.look = UINT64_MAX; /* the common part holds everywhere */
    if (!run(&m, e.initial))
        return false;
    m.initial = m.now;
    m.look = look;
    m.at = e.begin;
    *exact = e.of_signal;
    return run(&m, e.instructions) && apply(target, &m, registers);
}
