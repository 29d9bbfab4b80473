/* Steps of a tenth of a second. What a player does at a frame follows from what it saw up to that
 * frame; all move at once. */
#include "synth/plays/motion.h"

#define STEP 0.1F
#define LAG 0.4F       /* seconds in which a velocity is reached, unless that takes too much */
#define EASE 0.6F      /* by which an acceleration gets nearer to the one that is asked for */
#define TURN 0.35F     /* the same of the way that a player faces */
#define NEAR 2.8F      /* players keep such a distance, in yards */
#define PUSH 2.8F      /* by such a speed at none at all */
#define RUSH_SEEN 5.0F /* the distance at which the passer steps away from a rusher */
#define REACH 2.0F     /* of a blocker, who slows down a rusher */
#define HELD 0.3F      /* to such a part of its speed */
#define BRAKE 4.0F     /* yards per second squared, before a turn */
#define MARGIN 1.5F    /* nobody wants to be nearer to the end of the field, */
#define STOP 2.5F      /* before which they brake so, in yards per second squared */
#define BLOCKED 3.0F   /* a receiver turns before a defender so near, */
#define EVADED 6.0F    /* and keeps such a distance from them all */
#define EVASION 1.2F   /* by such a speed for each yard */
#define AREA 11.0F     /* radius of what a zone defender looks at */
#define CATCH 14.0F    /* defenders so near to where the ball lands run there, */
#define WATCH 3        /* so many frames after the throw */

static float length_of(float x, float y)
{
    return YPI_SQRT(x * x + y * y);
}

/* (x, y) with the length 1; (0, 0) stays. */
static void normalise(float *x, float *y)
{
    float length = length_of(*x, *y);
    if (length > 1e-6F) {
        *x /= length;
        *y /= length;
    }
}

static void limit(float *x, float *y, float most)
{
    float length = length_of(*x, *y);
    if (length > most) {
        *x *= most / length;
        *y *= most / length;
    }
}

static const struct synth_moment *moment(const struct synth_motion *m, size_t ago)
{
    size_t frame = m->frame > ago ? m->frame - ago : 0;
    return &m->moments[frame % SYNTH_MOMENTS];
}

const struct synth_moment *synth_motion_now(const struct synth_motion *m)
{
    return moment(m, 0);
}

/* Asks for the velocity (vx, vy) and so much more as is needed to get to (x, y). */
static void go_to(struct synth_motion *m, size_t i, float x, float y, float gain, float most)
{
    const struct synth_moment *now = synth_motion_now(m);
    m->want_x[i] += gain * (x - now->x[i]);
    m->want_y[i] += gain * (y - now->y[i]);
    limit(&m->want_x[i], &m->want_y[i], most);
}

/* ---- receivers ---- */

static size_t nearest_defender(const struct synth_plan *p, const struct synth_moment *now, float x,
                               float y)
{
    size_t best = p->offense;
    float least = 1e9F;
    for (size_t i = p->offense + p->rushers; i < p->players; i++) {
        float dx = now->x[i] - x, dy = now->y[i] - y, square = dx * dx + dy * dy;
        if (square < least) {
            least = square;
            best = i;
        }
    }
    return best;
}

/* Which way of y is away from the middle; where a defender is near, away from it instead. */
static float open_side(const struct synth_motion *m, size_t i, size_t defender)
{
    const struct synth_moment *now = synth_motion_now(m);
    float dx = now->x[defender] - now->x[i], dy = now->y[defender] - now->y[i];
    bool near = dx * dx + dy * dy < 36.0F && dy * dy > 0.04F;
    float side = near ? -dy : now->y[i] - m->plan->middle;
    return side < 0 ? -1.0F : 1.0F;
}

static void next_leg(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    size_t defender = nearest_defender(p, now, now->x[i], now->y[i]);
    unsigned leg = m->leg[i]++;
    if (leg < SYNTH_LEGS && p->route[i].legs[leg].length > 0) {
        float inwards = now->y[i] > p->middle ? 1.0F : -1.0F, y = p->route[i].legs[leg].y;
        m->leg_x[i] = p->route[i].legs[leg].x;
        m->leg_y[i] = y * (leg == 0 && y > 0 ? open_side(m, i, defender) : inwards);
        m->leg_left[i] = p->route[i].legs[leg].length;
        return;
    }
    /* Away from the nearest defender and from the border. */
    float ax = now->x[i] - now->x[defender], ay = now->y[i] - now->y[defender];
    float bx = p->line + 8.0F - now->x[i], by = (float)SYNTH_PLAY_WIDTH / 2 - now->y[i];
    normalise(&ax, &ay);
    m->leg_x[i] = ax + bx * 0.05F;
    m->leg_y[i] = ay + by * 0.05F;
    normalise(&m->leg_x[i], &m->leg_y[i]);
    m->leg_left[i] = 11.0F;
}

/* Whether a defender stands in the way of the present leg. */
static bool is_blocked(const struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    for (size_t k = p->offense + p->rushers; k < p->players; k++) {
        float dx = now->x[k] - now->x[i], dy = now->y[k] - now->y[i];
        float ahead = dx * m->leg_x[i] + dy * m->leg_y[i], square = dx * dx + dy * dy;
        if (square < BLOCKED * BLOCKED && ahead > 0 && ahead * ahead > 0.6F * square)
            return true;
    }
    return false;
}

/* Turns the velocity away from the defenders around. */
static void evade(struct synth_motion *m, size_t i, float most)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    for (size_t k = p->offense + p->rushers; k < p->players; k++) {
        float dx = now->x[i] - now->x[k], dy = now->y[i] - now->y[k];
        float near = 1 - (dx * dx + dy * dy) / (EVADED * EVADED);
        if (near > 0) {
            m->want_x[i] += EVASION * near * dx;
            m->want_y[i] += EVASION * near * dy;
        }
    }
    limit(&m->want_x[i], &m->want_y[i], most);
}

static void run_route(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    if (m->frame >= p->throw_frame && i == p->target) {
        go_to(m, i, m->ball_x, m->ball_y, 1.3F, p->top[i]);
        return;
    }
    m->leg_left[i] -= STEP * length_of(now->vx[i], now->vy[i]);
    float border = now->y[i] + m->leg_y[i] * 3.0F;
    bool out = border < MARGIN || border > (float)SYNTH_PLAY_WIDTH - MARGIN;
    if (m->leg_left[i] <= 0 || (out && m->leg_y[i] * m->leg_y[i] > 0.05F) || is_blocked(m, i))
        next_leg(m, i);
    float left = m->leg_left[i] > 0 ? m->leg_left[i] : 0;
    float speed = 2.5F + YPI_SQRT(2 * BRAKE * left), most = p->top[i];
    if (m->leg[i] > SYNTH_LEGS)
        most *= 0.7F;
    speed = speed < most ? speed : most;
    m->want_x[i] = speed * m->leg_x[i];
    m->want_y[i] = speed * m->leg_y[i];
    evade(m, i, most);
}

/* ---- passer, blockers, rushers ---- */

static void pass(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    for (size_t k = p->offense; k < p->offense + p->rushers; k++) {
        float dx = now->x[i] - now->x[k], dy = now->y[i] - now->y[k];
        float near = 1 - (dx * dx + dy * dy) / (RUSH_SEEN * RUSH_SEEN);
        if (near > 0) {
            m->want_x[i] += 0.7F * near * dx;
            m->want_y[i] += 0.7F * near * dy;
        }
    }
    go_to(m, i, p->goal_x[i], p->goal_y[i], 0.9F, 0.75F * p->top[i]);
}

static void block(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = moment(m, 1);
    size_t mark = p->mark[i], passer = synth_plan_passer(p);
    float dx = now->x[passer] - now->x[mark], dy = now->y[passer] - now->y[mark];
    normalise(&dx, &dy);
    m->want_x[i] = now->vx[mark];
    m->want_y[i] = now->vy[mark];
    go_to(m, i, now->x[mark] + dx, now->y[mark] + dy, 1.6F, p->top[i]);
}

static void rush(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = moment(m, 1);
    size_t passer = synth_plan_passer(p);
    bool held = false;
    for (size_t k = passer + 1; k < p->offense; k++) {
        float dx = now->x[i] - now->x[k], dy = now->y[i] - now->y[k];
        held = held || dx * dx + dy * dy < REACH * REACH;
    }
    go_to(m, i, now->x[passer], now->y[passer], 1.2F, p->top[i] * (held ? HELD : 0.9F));
}

/* ---- coverage ---- */

static void follow(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *seen = moment(m, p->delay[i]);
    size_t mark = p->mark[i];
    float ahead = STEP * (float)p->delay[i];
    m->want_x[i] = seen->vx[mark];
    m->want_y[i] = seen->vy[mark];
    go_to(m, i, seen->x[mark] + ahead * seen->vx[mark] + p->goal_x[i],
          seen->y[mark] + ahead * seen->vy[mark], 1.2F, p->top[i]);
}

static void hold(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *seen = moment(m, p->delay[i]);
    float x = 0, y = 0, sum = 0;
    for (size_t k = 0; k < p->receivers; k++) {
        float dx = seen->x[k] - p->goal_x[i], dy = seen->y[k] - p->goal_y[i];
        float near = 1 - (dx * dx + dy * dy) / (AREA * AREA);
        if (near > 0) {
            x += near * dx;
            y += near * dy;
            sum += near;
        }
    }
    float lean = 0.85F / (sum > 0.4F ? sum : 0.4F);
    go_to(m, i, p->goal_x[i] + lean * x, p->goal_y[i] + lean * y, 1.1F, 0.75F * p->top[i]);
}

static void cover(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    float dx = m->ball_x - now->x[i], dy = m->ball_y - now->y[i];
    bool thrown = m->frame >= p->throw_frame + WATCH;
    if (thrown && dx * dx + dy * dy < CATCH * CATCH)
        go_to(m, i, m->ball_x, m->ball_y, 1.3F, p->top[i]);
    else if (p->task[i] == SYNTH_TASK_FOLLOW)
        follow(m, i);
    else
        hold(m, i);
}

/* ---- all ---- */

static void ask(struct synth_motion *m, size_t i)
{
    static void (*const tasks[])(struct synth_motion *, size_t) = {
        [SYNTH_TASK_PASS] = pass, [SYNTH_TASK_RUN] = run_route, [SYNTH_TASK_BLOCK] = block,
        [SYNTH_TASK_RUSH] = rush, [SYNTH_TASK_FOLLOW] = cover,  [SYNTH_TASK_HOLD] = cover};
    m->want_x[i] = 0;
    m->want_y[i] = 0;
    tasks[m->plan->task[i]](m, i);
}

/* The push between two players grows from 0 at NEAR. */
static void keep_apart(struct synth_motion *m)
{
    const struct synth_moment *now = synth_motion_now(m);
    size_t players = m->plan->players;
    for (size_t k = 0; k < players; k++)
        for (size_t i = 0; i < players; i++) {
            float dx = now->x[i] - now->x[k], dy = now->y[i] - now->y[k];
            float near = 1 - (dx * dx + dy * dy) * (1 / (NEAR * NEAR));
            near = YPI_MAX(near, 0.0F) * (PUSH / NEAR);
            m->want_x[i] += near * dx;
            m->want_y[i] += near * dy;
        }
}

/* A velocity towards the end of the field from which a player can still stop before it. */
static float within(float want, float at, float end)
{
    float room = at - MARGIN, beyond = end - MARGIN - at;
    float least = -YPI_SQRT(2 * STOP * YPI_MAX(room, 0.0F));
    float most = YPI_SQRT(2 * STOP * YPI_MAX(beyond, 0.0F));
    least = room < 0 ? -room : least;
    most = beyond < 0 ? beyond : most;
    return want < least ? least : want > most ? most : want;
}

static void move(struct synth_motion *m, size_t i, const struct synth_moment *now,
                 struct synth_moment *next)
{
    const struct synth_plan *p = m->plan;
    float vx = now->vx[i], vy = now->vy[i];
    float x = (within(m->want_x[i], now->x[i], (float)SYNTH_PLAY_LENGTH) - vx) / LAG;
    float y = (within(m->want_y[i], now->y[i], (float)SYNTH_PLAY_WIDTH) - vy) / LAG;
    limit(&x, &y, p->agility[i]);
    float new_x = vx + STEP * (m->ax[i] + EASE * (x - m->ax[i]));
    float new_y = vy + STEP * (m->ay[i] + EASE * (y - m->ay[i]));
    limit(&new_x, &new_y, p->top[i]); /* that takes no more acceleration */
    m->ax[i] = (new_x - vx) / STEP;
    m->ay[i] = (new_y - vy) / STEP;
    next->vx[i] = new_x;
    next->vy[i] = new_y;
    next->x[i] = now->x[i] + STEP * new_x;
    next->y[i] = now->y[i] + STEP * new_y;
}

/* Receivers and rushers look where they run, a man defender at its receiver, the others at the
 * passer and he at the targeted receiver. */
static void face(struct synth_motion *m, size_t i)
{
    const struct synth_plan *p = m->plan;
    const struct synth_moment *now = synth_motion_now(m);
    enum synth_task task = p->task[i];
    size_t passer = synth_plan_passer(p);
    size_t other = task == SYNTH_TASK_FOLLOW || task == SYNTH_TASK_BLOCK ? p->mark[i]
                   : task == SYNTH_TASK_PASS                             ? p->target
                                                                         : passer;
    float x = now->x[other] - now->x[i], y = now->y[other] - now->y[i];
    if (task == SYNTH_TASK_RUN) {
        x = now->vx[i];
        y = now->vy[i];
    }
    normalise(&x, &y);
    m->face_x[i] += TURN * (x - m->face_x[i]);
    m->face_y[i] += TURN * (y - m->face_y[i]);
    float length = length_of(m->face_x[i], m->face_y[i]);
    if (length < 0.05F) { /* half a turn: by the side */
        m->face_x[i] = -y;
        m->face_y[i] = x;
    } else {
        m->face_x[i] /= length;
        m->face_y[i] /= length;
    }
}

/* Where the targeted receiver can be in a while. */
static void throw_ball(struct synth_motion *m)
{
    const struct synth_moment *now = synth_motion_now(m);
    size_t i = m->plan->target;
    m->ball_x = now->x[i] + 1.1F * now->vx[i];
    m->ball_y = now->y[i] + 1.1F * now->vy[i];
    m->ball_x = YPI_MIN(YPI_MAX(m->ball_x, 2.0F), (float)SYNTH_PLAY_LENGTH - 2);
    m->ball_y = YPI_MIN(YPI_MAX(m->ball_y, 2.0F), (float)SYNTH_PLAY_WIDTH - 2);
}

void synth_motion_begin(struct synth_motion *m, const struct synth_plan *p)
{
    struct synth_moment *now = &m->moments[0];
    m->plan = p;
    m->frame = 0;
    for (size_t i = 0; i < p->players; i++) {
        now->x[i] = p->x[i];
        now->y[i] = p->y[i];
        now->vx[i] = now->vy[i] = 0;
        m->ax[i] = m->ay[i] = 0;
        m->face_x[i] = i < p->offense ? 1.0F : -1.0F;
        m->face_y[i] = 0;
    }
    for (size_t i = 0; i < p->receivers; i++) {
        m->leg_x[i] = 1;
        m->leg_y[i] = 0;
        m->leg_left[i] = p->route[i].depth;
        m->leg[i] = 0;
    }
}

void synth_motion_step(struct synth_motion *m)
{
    size_t players = m->plan->players;
    if (m->frame == m->plan->throw_frame)
        throw_ball(m);
    for (size_t i = 0; i < players; i++)
        ask(m, i);
    keep_apart(m);
    const struct synth_moment *now = synth_motion_now(m);
    struct synth_moment *next = &m->moments[(m->frame + 1) % SYNTH_MOMENTS];
    for (size_t i = 0; i < players; i++)
        move(m, i, now, next);
    m->frame++;
    for (size_t i = 0; i < players; i++)
        face(m, i);
}
